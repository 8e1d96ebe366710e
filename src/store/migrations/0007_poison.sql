-- EXE-9: processes that died, one after the other, while they ran a job of the connection: the latest last, at most five. Null
-- once a run of the connection has ended. Kept with the connection, so that its next job does not start at zero.
ALTER TABLE connections ADD COLUMN losses jsonb;
-- Nearly always empty. A write that does not change losses stays a HOT update.
CREATE INDEX idx_connections_losses ON connections (id) WHERE losses IS NOT NULL;

-- The process itself gave this lease up, so it has not died: it is stopping, or goes on under another id.
ALTER TABLE processes ADD COLUMN released boolean NOT NULL DEFAULT false;
