import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Assignment, Report } from './worker.ts';

export interface CrewOptions {
  /** A server on which databases can be made. */
  serverUrl: string;
  /** What to run, as `bundle` made it. */
  script: string;
  seeds: readonly number[];
  workers: number;
  stopsAtFirst?: boolean;
  tellsAll?: boolean;
  onReport?: (report: Report) => void;
}

let made = 0;

/** Simulates these seeds in some processes at once, a database each, and returns what came of them, in the order of seeds. */
export async function simulateAll(options: CrewOptions): Promise<Report[]> {
  const { seeds, workers } = options;
  const shares = Array.from({ length: workers }, (_, w) => seeds.filter((__, i) => i % workers === w));
  const reports = await Promise.all(
    shares.filter((share) => share.length > 0).map((share) => simulateShare(options, share)),
  );
  return reports.flat().sort((a, b) => a.seed - b.seed);
}

async function simulateShare(options: CrewOptions, seeds: number[]): Promise<Report[]> {
  const name = `syncline_sim_${process.pid}_${made++}`;
  await onServer(options.serverUrl, `CREATE DATABASE ${name}`);
  try {
    const url = new URL(options.serverUrl);
    url.pathname = `/${name}`;
    const { stopsAtFirst = false, tellsAll = false } = options;
    return await runWorker(options, { url: url.href, seeds, stopsAtFirst, tellsAll });
  } finally {
    await onServer(options.serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}

async function runWorker({ script, onReport }: CrewOptions, assignment: Assignment): Promise<Report[]> {
  const child = spawn(process.execPath, [script, JSON.stringify(assignment)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = exitOf(child);
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const reports: Report[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const report = JSON.parse(line) as Report;
    reports.push(report);
    onReport?.(report);
  }
  const { code, errors } = await ended;
  process.off('exit', endWithUs);
  if (code !== 0) throw new Error(`A worker ended with ${code} after ${reports.length} seeds: ${errors}`);
  return reports;
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; errors: string }> {
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, errors }));
  });
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
