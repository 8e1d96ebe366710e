import { readFileSync } from 'node:fs';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { describeError, SynclineError } from '../../contract/errors.ts';
import { maxDescription } from '../../values/limits.ts';
import { descriptionError, type LineOf } from './problems.ts';

export interface ReadYaml {
  input: unknown;
  lineOf: LineOf;
}

/** One line ending in .yaml or .yml is a path. */
export function readYaml(textOrPath: string): ReadYaml {
  if (typeof textOrPath !== 'string')
    throw new SynclineError(
      'CONFIG_INVALID',
      `The description is ${typeof textOrPath}; it must be YAML, or the path of a file.`,
    );
  const isFile = !/[\n{]/.test(textOrPath) && /\.ya?ml$/i.test(textOrPath);
  return parse(isFile ? fileText(textOrPath) : textOrPath);
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SynclineError('CONFIG_INVALID', `${path} could not be read: ${describeError(cause)}`, {
      cause,
    });
  }
}

function parse(text: string): ReadYaml {
  if (text.length > maxDescription.bytes)
    throw descriptionError(
      [{ path: [], message: `is larger than ${maxDescription.bytes} bytes.` }],
      'The description',
    );
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'silent' });
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    path: [],
    line: lines.linePos(pos[0]).line,
    message: `is not valid YAML: ${message.split('\n')[0]}`,
  }));
  if (problems.length > 0) throw descriptionError(problems, 'The description');
  return {
    input: plainOf(document),
    lineOf: (path) => {
      for (let length = path.length; length >= 0; length--) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
      }
      return 1;
    },
  };
}

/** Bounds alias expansion. */
function plainOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw descriptionError(
      [{ path: [], message: `is not usable YAML: ${describeError(cause)}` }],
      'The description',
    );
  }
}
