// Checks production dependencies for known vulnerabilities and registry signatures. Needs the network.
// Exit status: 1 if a check fails, 2 if the registry did not answer.
import { spawnSync } from 'node:child_process';

const npm = (...args) => spawnSync('npm', args, { encoding: 'utf8' });

function vulnerabilities() {
  const { stdout, stderr } = npm('audit', '--omit=dev', '--json');
  const report = parseJson(stdout);
  if (!report?.metadata)
    return unanswered('known vulnerabilities', report?.message ?? report?.error?.summary ?? stderr);
  const { total } = report.metadata.vulnerabilities;
  console.log(total === 0 ? 'No known vulnerabilities.' : JSON.stringify(report.vulnerabilities, null, 2));
  return total === 0 ? 0 : 1;
}

function signatures() {
  const { status, stdout, stderr } = npm('audit', 'signatures', '--omit=dev', '--json');
  const report = parseJson(stdout);
  if (!report || !Array.isArray(report.invalid))
    return unanswered('signatures', report?.error?.summary ?? stderr);
  const { invalid, missing } = report;
  if (invalid.length === 0 && missing.length === 0 && status === 0) console.log('All packages are signed.');
  else console.log(JSON.stringify({ invalid, missing }, null, 2));
  return invalid.length === 0 && missing.length === 0 ? 0 : 1;
}

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unanswered(subject, reason) {
  const detail = String(reason).trim().split('\n')[0] || 'no response';
  console.error(`The registry did not answer the query for ${subject}: ${detail}`);
  return 2;
}

process.exitCode = Math.max(vulnerabilities(), signatures());
