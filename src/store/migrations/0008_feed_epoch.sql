-- Cursors of the feed prove that they were issued by this history, and a sequence that was left behind (a restore, a copy by logical
-- replication, which does not carry sequences) assigns no position that readers have passed.

-- The batch at the start of the feed, kept after its row is deleted: a cursor that stands there is compared with it. The epoch counts repairs.
ALTER TABLE feed_start ADD COLUMN batch uuid, ADD COLUMN epoch integer NOT NULL DEFAULT 1;
UPDATE feed_start s SET batch = (SELECT f.batch FROM feed f WHERE f.position = s.position);

-- By a trigger, so that a process of an earlier release keeps it right, too.
CREATE FUNCTION prove_feed_start() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  NEW.batch := (SELECT f.batch FROM feed f WHERE f.position = NEW.position);
  RETURN NEW;
END $$;
CREATE TRIGGER prove_feed_start BEFORE UPDATE OF position ON feed_start
  FOR EACH ROW WHEN (NEW.position <> OLD.position) EXECUTE FUNCTION prove_feed_start();

-- Moves the sequence to the highest stored position if it is behind; returns whether it was. With the rights of the owner: setval needs the
-- right to set the sequence to any value, which the role that processes run as does not have.
CREATE FUNCTION repair_feed() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  highest bigint;
  reached bigint;
BEGIN
  -- One repair at a time. Writers that have drawn a position too low wait here, too.
  PERFORM FROM feed_start FOR UPDATE;
  highest := (SELECT coalesce((SELECT f.position FROM feed f WHERE f.position > s.position ORDER BY f.position DESC LIMIT 1), s.position)
    FROM feed_start s);
  SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO reached FROM feed_position;
  IF reached >= highest THEN
    RETURN false;
  END IF;
  -- setval would take the sequence back if writers had passed `highest` meanwhile. Each of them draws one position and then waits for the
  -- row above, so all sessions together cannot close a wider gap than this; a smaller one is closed by drawing.
  IF highest - reached > current_setting('max_connections')::bigint THEN
    PERFORM setval('feed_position', highest);
  ELSE
    PERFORM nextval('feed_position') FROM generate_series(1, highest - reached);
  END IF;
  UPDATE feed_start SET epoch = epoch + 1;
  RETURN true;
END $$;

-- The highest position is read before the new one is drawn: every position that this snapshot can see was drawn earlier, so a new one
-- that is not above all of them shows that the sequence went back. Concurrent commits never look like that.
CREATE OR REPLACE FUNCTION give_position() RETURNS trigger LANGUAGE plpgsql
  SET search_path FROM CURRENT SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  highest bigint;
  drawn bigint;
BEGIN
  highest := (SELECT coalesce((SELECT f.position FROM feed f WHERE f.position > s.position ORDER BY f.position DESC LIMIT 1), s.position)
    FROM feed_start s);
  drawn := nextval('feed_position');
  IF drawn <= highest THEN
    PERFORM repair_feed();
    drawn := nextval('feed_position');
  END IF;
  UPDATE feed SET position = drawn WHERE batch = NEW.batch;
  RETURN NULL;
END $$;

-- Batches that were stored while the sequence was behind have positions that readers had passed, and move to the end of the feed. They
-- are the ones that began after everything above the sequence.
DO $$
DECLARE
  reached bigint := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM feed_position);
BEGIN
  IF repair_feed() THEN
    UPDATE feed f SET position = moved.position FROM (
      SELECT batch, nextval('feed_position') AS position FROM (
        SELECT batch FROM feed
        WHERE position <= reached
          AND created_at > coalesce((SELECT max(created_at) FROM feed WHERE position > reached), '-infinity')
        ORDER BY position) late) moved
    WHERE f.batch = moved.batch;
  END IF;
END $$;
