-- Writes the rows of a successful sync in three statements per batch: schedule, claim, finish, one transaction each. It calls
-- no connector, checks no lease, orders nothing across providers and counts no statistics. The session sets search_path.

CREATE PROCEDURE limit_schedule(batch_size int) LANGUAGE plpgsql AS $$
DECLARE
  batch int;
BEGIN
  PERFORM set_config('syncline.due_at', 'written', false);
  LOOP
    WITH due AS MATERIALIZED (
      SELECT id, tenant_id, provider_slug, due_at FROM connections
      WHERE status = 'active' AND NOT waits_for_job AND due_at <= now()
      ORDER BY due_at, id LIMIT batch_size
      FOR NO KEY UPDATE SKIP LOCKED
    ), queued AS (
      INSERT INTO sync_jobs
        (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, created_at, updated_at)
      SELECT uuidv7(), tenant_id, provider_slug, id, 'incremental', 'queued', due_at, now(), now() FROM due
    )
    UPDATE connections c
    SET metadata = patch_sync(c.metadata, jsonb_build_object(
          'next_run_at', to_char((now() + interval '1 hour') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'last_jitter_seconds', 0)),
        due_at = date_trunc('milliseconds', now() + interval '1 hour'), updated_at = now()
    FROM due WHERE c.id = due.id;
    GET DIAGNOSTICS batch = ROW_COUNT;
    COMMIT;
    EXIT WHEN batch = 0;
  END LOOP;
END $$;

-- Runs until no unlocked job is queued.
CREATE PROCEDURE limit_work(batch_size int, INOUT done int) LANGUAGE plpgsql AS $$
DECLARE
  claim uuid;
  signal_batch uuid;
  ids uuid[];
BEGIN
  PERFORM set_config('syncline.due_at', 'written', false);
  done := 0;
  LOOP
    claim := gen_random_uuid();
    WITH picked AS MATERIALIZED (
      SELECT id FROM sync_jobs
      WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at <= now()
      ORDER BY provider_slug, priority, scheduled_at LIMIT batch_size
      FOR NO KEY UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE sync_jobs SET status = 'running', started_at = now(), updated_at = now(), claim_id = claim
      WHERE id = ANY (ARRAY(SELECT id FROM picked))
      RETURNING id
    )
    SELECT array_agg(id) INTO ids FROM claimed;
    COMMIT;
    EXIT WHEN ids IS NULL;

    signal_batch := uuidv7();
    WITH ended AS (
      UPDATE sync_jobs
      SET status = 'succeeded', finished_at = now(), updated_at = now(), signal_count = 1,
          next_cursor = jsonb_build_object('page', id, 'since', now())
      WHERE id = ANY (ids) AND claim_id = claim
      RETURNING id, tenant_id, provider_slug, connection_id, next_cursor
    ), moved AS (
      UPDATE connections c
      SET metadata = patch_sync(c.metadata, jsonb_build_object('cursor', ended.next_cursor)),
          last_incremental_ended_at = greatest(c.last_incremental_ended_at, now()), updated_at = now()
      FROM ended WHERE c.id = ended.connection_id
      RETURNING ended.id, c.tenant_id, c.provider_slug, c.id AS connection_id, c.external_id
    )
    INSERT INTO signals
      (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key, received_at, created_at, batch)
    SELECT uuidv7(), tenant_id, provider_slug, connection_id, id, 'issue.opened', now(),
      jsonb_build_object('number', 1234, 'title', 'A small payload', 'account', external_id), id::text, now(), now(), signal_batch
    FROM moved
    ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING;
    COMMIT;
    done := done + cardinality(ids);
  END LOOP;
END $$;
