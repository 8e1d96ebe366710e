import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Assignment, Report } from './worker.ts';

export interface WorkersOptions {
  /** The user must be allowed to create databases. */
  serverUrl: string;
  script: string;
  seeds: readonly number[];
  workers: number;
  stopAtFirst?: boolean;
  fullTrace?: boolean;
  onReport?: (report: Report) => void;
}

let databaseCount = 0;

/** Runs the seeds in parallel processes, each with its own database. */
export async function simulateAll(options: WorkersOptions): Promise<Report[]> {
  const { seeds, workers } = options;
  const shares = Array.from({ length: workers }, (_, w) => seeds.filter((__, i) => i % workers === w));
  const reports = await Promise.all(
    shares.filter((share) => share.length > 0).map((share) => simulateShare(options, share)),
  );
  return reports.flat().sort((a, b) => a.seed - b.seed);
}

async function simulateShare(options: WorkersOptions, seeds: number[]): Promise<Report[]> {
  const name = `syncline_sim_${process.pid}_${databaseCount++}`;
  await onServer(options.serverUrl, `CREATE DATABASE ${name}`);
  try {
    const url = new URL(options.serverUrl);
    url.pathname = `/${name}`;
    const { stopAtFirst = false, fullTrace = false } = options;
    return await runWorker(options, { url: url.href, seeds, stopAtFirst, fullTrace });
  } finally {
    await onServer(options.serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  }
}

async function runWorker({ script, onReport }: WorkersOptions, assignment: Assignment): Promise<Report[]> {
  const child = spawn(process.execPath, [script, JSON.stringify(assignment)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = exitOf(child);
  const killChild = () => child.kill('SIGKILL');
  process.once('exit', killChild);
  const reports: Report[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const report = JSON.parse(line) as Report;
    reports.push(report);
    onReport?.(report);
  }
  const { code, errors } = await ended;
  process.off('exit', killChild);
  if (code !== 0) throw new Error(`A worker exited with ${code} after ${reports.length} seeds: ${errors}`);
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
