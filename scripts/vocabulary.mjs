/**
 * Fails where the project leaves its vocabulary: words that hide the mechanism, and names that say most, least or usual
 * where the field says max, min or default. Usage: node scripts/vocabulary.mjs
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const rules = [
  {
    pattern: /\b(?:nobody|somebody|whoever|everybody|told)\b/gi,
    fix: 'name the process, transaction or caller',
  },
  { pattern: /\b(?:most|least|usual)[A-Z]\w*/g, fix: 'use max, min or default' },
];

/** By file, the words it may hold, and why. */
const exceptions = {
  'scripts/vocabulary.mjs': {
    words: ['nobody', 'somebody', 'whoever', 'everybody', 'told'],
    reason: 'the rule itself',
  },
  'src/dev/binaries.ts': { words: ['nobody'], reason: 'the Unix account' },
  'docs/internals/architecture.md': { words: ['nobody'], reason: 'the Unix account' },
  'test/contract/signatures.unit.test.ts': {
    words: ['everybody'],
    reason: "the text of GitHub's published example",
  },
};

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'])
  .toString()
  .split('\n')
  .filter((file) => /\.(?:tsx?|mjs|sql|md|css|html|ya?ml)$/.test(file) && existsSync(file));

const findings = files.flatMap((file) => {
  const allowed = exceptions[file]?.words ?? [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, i) =>
      rules.flatMap(({ pattern, fix }) =>
        (line.match(pattern) ?? [])
          .filter((word) => !allowed.includes(word.toLowerCase()) && !allowed.includes(word))
          .map((word) => `${file}:${i + 1}: "${word}": ${fix}`),
      ),
    );
});
for (const finding of findings) console.error(finding);
if (findings.length > 0)
  console.error(`${findings.length} words outside the vocabulary in ${files.length} files.`);
process.exitCode = findings.length > 0 ? 1 : 0;
