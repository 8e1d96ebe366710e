/** Names of the engine's statements, by their first words. */
export const kinds: readonly [name: string, text: RegExp][] = [
  ['open session', /^BEGIN[\s\S]+SELECT NOT is_own/],
  ['begin', /^BEGIN/],
  ['read clock', /^SELECT pg_catalog\.floor/],
  ['commit', /^COMMIT/],
  ['rollback', /^ROLLBACK/],
  ['heartbeat', /^WITH renewed/],
  ['register process', /^INSERT INTO \S+processes/],
  ['other providers', /^WITH RECURSIVE waiting/],
  ['find ready', /^WITH RECURSIVE[\s\S]+SKIP LOCKED\) locked/],
  ['next due', /^WITH RECURSIVE[\s\S]+SELECT least\(/],
  ['mark running', /^WITH alive/],
  ['block stuck', /^SELECT \S+block_arrivals/],
  ['end backoffs', /^UPDATE \S+sync_jobs SET retry_after = NULL/],
  ['lock connections', /^SELECT id, tenant_id, provider_slug FROM \S+connections\s+WHERE id = ANY/],
  ['lock runs', /^SELECT id, claim_id, status, rerun_priority/],
  ['write connections', /^UPDATE \S+connections c\s+SET metadata = CASE WHEN w\.cursor/],
  ['store signals', /^WITH stored AS/],
  ['settle jobs', /^WITH settled AS \(UPDATE \S+sync_jobs j\s+SET status = e\.status/],
  ['unblock siblings', /^SELECT \S+unblock_siblings/],
  ['follow up', /^INSERT INTO \S+sync_jobs AS j/],
  ['needs auth', /^UPDATE \S+connections c SET status = 'needs_auth'/],
  ['record lost', /^INSERT INTO \S+attempts \(job_id/],
  ['record attempts', /^INSERT INTO \S+attempts/],
  ['trim attempts', /^DELETE FROM \S+attempts/],
  ['add statistics', /^INSERT INTO \S+rollups/],
  ['lock expired', /^SELECT host, pid, expires_at, released FROM \S+processes/],
  ['find lost', /^SELECT j\.id, j\.connection_id, c\.tenant_id/],
  ['requeue', /^UPDATE \S+sync_jobs j\s+SET status = 'queued', process_id = NULL/],
  ['count deaths', /^UPDATE \S+connections c SET losses = w\.losses/],
  ['remove deaths', /^UPDATE \S+connections c\s+SET losses = \(\s+SELECT jsonb_agg/],
  ['defer suspects', /^UPDATE \S+sync_jobs j SET retry_after = d\.until/],
  ['correct owners', /^UPDATE \S+sync_jobs j SET tenant_id = c\.tenant_id/],
  ['rewind job', /^UPDATE \S+sync_jobs\s+SET status = 'queued', cursor = NULL/],
  ['delete process', /^DELETE FROM \S+processes/],
  ['expire process', /^UPDATE \S+processes SET expires_at/],
  ['missing processes', /^SELECT DISTINCT j\.process_id/],
  ['count overdue', /^SELECT count\(\*\)::int AS overdue/],
  ['lock due', /^SELECT id, due_at::text/],
  [
    'place jobs',
    /^INSERT INTO \S+sync_jobs\s+\(id, tenant_id, provider_slug, connection_id, job_type, status, sch/,
  ],
  ['patch sync', /^UPDATE \S+connections c\s+SET metadata = \S+patch_sync\(c\.metadata, p\.patch/],
  ['set waiting', /^UPDATE \S+connections SET waits_for_job = true/],
  ['wake', /^SELECT \S+wake_executors/],
  ['enable triggers', /^SELECT set_config\('syncline\.triggers'/],
  ['record tick', /^WITH gone AS \(\s+DELETE FROM \S+schedulers/],
  ['delete scheduler', /^DELETE FROM \S+schedulers/],
  ['lock connection', /^SELECT c\.id, [\s\S]+FOR NO KEY UPDATE OF c$/],
  ['set status', /^UPDATE \S+connections SET status = \$1/],
  ['activate', /^UPDATE \S+connections\s+SET status = 'active'/],
  ['write cursor', /^UPDATE \S+connections\s+SET metadata = CASE\s+WHEN \$1/],
  ['write schedule', /^UPDATE \S+connections SET schedule/],
  ['move job', /^UPDATE \S+sync_jobs SET scheduled_at = \$/],
  ['cancel job', /^UPDATE \S+sync_jobs\s+SET status = 'cancelled'/],
  ['request rerun', /^UPDATE \S+sync_jobs SET rerun_priority/],
  ['bring forward', /^UPDATE \S+sync_jobs\s+SET scheduled_at = least/],
  ['prune jobs', /^WITH gone AS \(\s+DELETE FROM \S+sync_jobs/],
];

/** Statements that cause no notification. */
const silent = new Set([
  'read clock',
  'begin',
  'open session',
  'commit',
  'rollback',
  'heartbeat',
  'register process',
  'expire process',
  'missing processes',
  'other providers',
  'find ready',
  'next due',
  'lock connections',
  'lock connection',
  'lock runs',
  'lock expired',
  'lock due',
  'find lost',
  'enable triggers',
  'record tick',
]);

export const mayNotify = (kind: string) => !silent.has(kind);

const kindByText = new Map<string, string>();

/** The name of a statement; its first words if it has none. */
export function kindOf(text: string): string {
  const found = kindByText.get(text);
  if (found !== undefined) return found;
  const kind = kinds.find(([, pattern]) => pattern.test(text))?.[0] ?? firstWords(text);
  kindByText.set(text, kind);
  return kind;
}

const firstWords = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 40);
