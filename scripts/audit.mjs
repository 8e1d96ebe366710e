// Asks the registry what it knows of the packages that everybody gets who installs Syncline: known vulnerabilities, and whether
// they are signed as they should be. Needs the network. Exits with 1 if something is wrong, and with 2 if nobody could be asked:
// that is no clean bill of health.
import { spawnSync } from 'node:child_process';

const npm = (...args) => spawnSync('npm', args, { encoding: 'utf8' });

function vulnerabilities() {
  const { stdout, stderr } = npm('audit', '--omit=dev', '--json');
  const report = parsed(stdout);
  if (!report?.metadata)
    return unanswered('known vulnerabilities', report?.message ?? report?.error?.summary ?? stderr);
  const { total } = report.metadata.vulnerabilities;
  console.log(total === 0 ? 'No known vulnerability.' : JSON.stringify(report.vulnerabilities, null, 2));
  return total === 0 ? 0 : 1;
}

function signatures() {
  const { status, stdout, stderr } = npm('audit', 'signatures', '--omit=dev', '--json');
  const report = parsed(stdout);
  if (!report || !Array.isArray(report.invalid))
    return unanswered('signatures', report?.error?.summary ?? stderr);
  const { invalid, missing } = report;
  if (invalid.length === 0 && missing.length === 0 && status === 0) console.log('Every package is signed.');
  else console.log(JSON.stringify({ invalid, missing }, null, 2));
  return invalid.length === 0 && missing.length === 0 ? 0 : 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unanswered(what, reason) {
  const said = String(reason).trim().split('\n')[0] || 'it gave no answer';
  console.error(`The registry could not be asked for ${what}, so nothing is known of them: ${said}`);
  return 2;
}

process.exitCode = Math.max(vulnerabilities(), signatures());
