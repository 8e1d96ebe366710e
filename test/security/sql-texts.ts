import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';

/** A non-constant expression in a text that may be SQL. */
export interface Insertion {
  file: string;
  expression: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

/** Names in scope that cannot depend on input. */
type Constants = ReadonlySet<string>;

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** Paths of TypeScript files in src, without the dashboard, which runs in browsers. */
export const sourceFiles = (): string[] =>
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('dashboard'))
    .sort();

export const sourceOf = (file: string): string => readFileSync(join(src, file), 'utf8');

function parsed(file: string, text: string): Node {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message}`);
  return program as unknown as Node;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

function childrenOf(node: Node): Node[] {
  return Object.entries(node)
    .filter(([key]) => key !== 'parent')
    .flatMap(([, value]) => (Array.isArray(value) ? value : [value]))
    .filter(isNode);
}

/** Non-constant expressions in templates that `isSql` accepts, and in string concatenations. */
export function insertionsIn(file: string, text: string, isSql = (_: string) => true): Insertion[] {
  const program = parsed(file, text);
  const found: Insertion[] = [];
  const report = (node: Node) => found.push({ file, expression: text.slice(node.start, node.end) });

  function visit(node: Node, constants: Constants, isSent = false): void {
    if (isErrorMessage(node)) return;
    if (node.type === 'TemplateLiteral' && (isSent || isSql(text.slice(node.start, node.end))))
      for (const expression of node['expressions'] as Node[])
        if (!isSafe(expression, constants)) report(expression);
    if (node.type === 'BinaryExpression' && node['operator'] === '+' && hasText(node)) report(node);
    const known = isMapOfConstant(node, constants)
      ? new Set([...constants, ...parametersOf(node)])
      : constants;
    const sent = statementOf(node);
    for (const child of childrenOf(node)) visit(child, known, child === sent);
  }

  visit(program, knownConstants(program));
  return found;
}

/** Constants of this file, of other files of the store that it imports, and of the limits. */
function knownConstants(program: Node): Set<string> {
  const imported = (program['body'] as Node[])
    .filter((node) => node.type === 'ImportDeclaration')
    .flatMap((node) => {
      const from = String((node['source'] as Node)['value']);
      const file = from === '../values/limits.ts' ? 'values/limits.ts' : from.replace(/^\.\.?\//, 'store/');
      if (!existsSync(join(src, file))) return [];
      const exported = topLevelConstants(parsed(file, sourceOf(file)));
      return (node['specifiers'] as Node[])
        .map((specifier) => (specifier['local'] as { name: string }).name)
        .filter((name) => exported.has(name));
    });
  return new Set([...topLevelConstants(program), ...imported]);
}

/** Constants evaluated at load time, except functions: their results may depend on arguments. */
function topLevelConstants(program: Node): Set<string> {
  const statements = (program['body'] as Node[]).map((node) => (node['declaration'] as Node | null) ?? node);
  const own = statements
    .filter((node) => node.type === 'VariableDeclaration' && node['kind'] === 'const')
    .flatMap((node) => node['declarations'] as Node[])
    .filter((item) => !/Function/.test((item['init'] as Node | null)?.type ?? ''))
    .map((item) => (item['id'] as { name?: string }).name);
  return new Set(own.filter((name) => name !== undefined));
}

/** Constants. The schema and the relations of a caller are inserted by store/sql.ts alone. */
function isSafe(node: Node, constants: Constants): boolean {
  const inner = (key: string) => node[key] as Node;
  const safe = (item: Node) => isSafe(item, constants);
  switch (node.type) {
    case 'Literal':
      return true;
    case 'Identifier':
      return constants.has(node['name'] as string);
    case 'TemplateLiteral':
      // Visited separately.
      return true;
    case 'BinaryExpression':
      return safe(inner('left')) && safe(inner('right'));
    case 'ConditionalExpression':
      return safe(inner('consequent')) && safe(inner('alternate'));
    case 'ObjectExpression':
      return (node['properties'] as Node[]).every((item) =>
        safe((item['argument'] ?? item['value']) as Node),
      );
    case 'ArrayExpression':
      return (node['elements'] as Node[]).every(safe);
    case 'CallExpression':
      return isListOfConstants(node, constants) || isCallWithConstants(node, constants);
    default:
      return false;
  }
}

const nameOf = (node: Node) => (node['property'] as { name?: string }).name;

/** `unnest('n', { id: 'uuid' })`: the body of the function is checked separately. */
function isCallWithConstants(node: Node, constants: Constants): boolean {
  return (
    (node['callee'] as Node).type === 'Identifier' &&
    (node['arguments'] as Node[]).every((argument) => isSafe(argument, constants))
  );
}

/** `columns.join(', ')`, `columns.map(…).join(', ')`; the callback is checked separately. */
function isListOfConstants(node: Node, constants: Constants): boolean {
  const callee = node['callee'] as Node;
  if (callee.type !== 'MemberExpression' || !['join', 'map'].includes(nameOf(callee) ?? '')) return false;
  const object = callee['object'] as Node;
  return object.type === 'CallExpression' ? isListOfConstants(object, constants) : isSafe(object, constants);
}

/** Its callback's parameters are constants too. */
const isMapOfConstant = (node: Node, constants: Constants) =>
  node.type === 'CallExpression' && isListOfConstants(node, constants);

const parametersOf = (node: Node): string[] =>
  (node['arguments'] as Node[])
    .flatMap((item) => (item['params'] as { name?: string }[] | undefined) ?? [])
    .flatMap(({ name }) => (name === undefined ? [] : [name]));

const isErrorMessage = (node: Node) =>
  node.type === 'NewExpression' && /Error$/.test((node['callee'] as { name?: string }).name ?? '');

const hasText = (node: Node) =>
  [node['left'], node['right']].some(
    (side) =>
      isNode(side) &&
      (side.type === 'TemplateLiteral' || (side.type === 'Literal' && typeof side['value'] === 'string')),
  );

function statementOf(node: Node): Node | undefined {
  const callee = node['callee'] as Node | undefined;
  const isQuery =
    node.type === 'CallExpression' && callee?.type === 'MemberExpression' && nameOf(callee) === 'query';
  return isQuery ? (node['arguments'] as Node[])[0] : undefined;
}

/** First arguments of `.query(…)`; with `isLiteralAllowed`, neither literals nor constants of the file. */
export function sentTexts(file: string, text: string, isLiteralAllowed: boolean): Insertion[] {
  const found: Insertion[] = [];
  const program = parsed(file, text);
  const constants = topLevelConstants(program);
  function visit(node: Node): void {
    const statement = statementOf(node);
    const isLiteral =
      statement?.type === 'TemplateLiteral' ||
      statement?.type === 'Literal' ||
      (statement?.type === 'Identifier' && constants.has(statement['name'] as string));
    if (statement && !(isLiteral && isLiteralAllowed))
      found.push({ file, expression: text.slice(statement.start, statement.end) });
    childrenOf(node).forEach(visit);
  }
  visit(program);
  return found;
}

/** `sql` and `prepared` tags inside functions: such a statement is registered when the function is called, not at load. */
export function lateStatements(file: string, text: string): Insertion[] {
  const found: Insertion[] = [];
  function visit(node: Node, isInFunction: boolean): void {
    if (
      isInFunction &&
      node.type === 'TaggedTemplateExpression' &&
      ['sql', 'prepared'].includes((node['tag'] as { name?: string }).name ?? '')
    )
      found.push({ file, expression: text.slice(node.start, node.end) });
    for (const child of childrenOf(node)) visit(child, isInFunction || /Function/.test(node.type));
  }
  visit(parsed(file, text), false);
  return found;
}
