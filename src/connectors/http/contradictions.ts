import { fieldOf } from './config-fields.ts';
import type { HttpDescription } from './description.ts';
import { type Problem, wrong } from './problems.ts';
import { isBase } from './requests.ts';
import {
  conditionProblems,
  configNames,
  isHeaderName,
  pathProblems,
  templateProblems,
} from './shared-checks.ts';
import { streamProblems } from './stream-contradictions.ts';
import { environmentNames, isEnvironment, textsIn } from './templates.ts';

/** What no single field shows: names that lead nowhere, and parts that do not go together. */
export function contradictionsIn(description: HttpDescription, env: NodeJS.ProcessEnv): Problem[] {
  const { streams } = description;
  const none: Problem[] =
    Object.keys(streams).length === 0
      ? [{ path: ['streams'], says: 'is empty; describe at least one stream.' }]
      : [];
  return [
    ...none,
    ...baseProblems(description),
    ...authProblems(description),
    ...configProblems(description),
    ...environmentProblems(description, env),
    ...errorProblems(description),
    ...templateProblems(description.headers, ['headers'], configNames(description)),
    ...Object.entries(streams).flatMap(([name, stream]) =>
      streamProblems(stream, ['streams', name], description),
    ),
  ];
}

function baseProblems(description: HttpDescription): Problem[] {
  const at = ['baseUrl'];
  const { baseUrl } = description;
  const unknown = templateProblems(baseUrl, at, configNames(description));
  if (unknown.length > 0) return unknown;
  const isWhole = /^\{config\.\w+\}$/.test(baseUrl) || isEnvironment(baseUrl);
  // With any label in the place of a placeholder it must be an address, and the placeholder in its host.
  const example = baseUrl.replaceAll(/\$\{env\.\w+\}|\{[^{}]*\}/g, 'x');
  if (isWhole) return [];
  if (!isBase(example))
    return [
      {
        path: at,
        says: `is "${hidden(baseUrl)}"; it must be an http or https address without a query, a fragment, a name or a password.`,
      },
    ];
  const afterHost = baseUrl.replace(/^https?:\/\/[^/]*/i, '');
  return afterHost.includes('{') && !afterHost.includes(`\${`)
    ? [
        {
          path: at,
          says: `has a placeholder behind the host; put it into request.path, where it is encoded for its segment.`,
        },
      ]
    : [];
}

/** An address may hold a password. */
const hidden = (url: string) => url.replace(/\/\/[^/@]*@/, '//[hidden]@').slice(0, 80);

function authProblems({ auth }: HttpDescription): Problem[] {
  if (auth.type === 'header' && !isHeaderName(auth.header))
    return [wrong(['auth', 'header'], auth.header, 'the name of a header')];
  if (auth.type !== 'oauth2') return [];
  const { authorizationUrl, tokenUrl, clientSecret } = auth.oauth2;
  const isLocal = (url: string) => /^http:\/\/(?:127\.0\.0\.1|localhost)(?:[:/]|$)/.test(url);
  const addresses = Object.entries({ authorizationUrl, tokenUrl }).flatMap(([name, url]) =>
    URL.canParse(url) && (url.startsWith('https://') || isLocal(url))
      ? []
      : [{ path: ['auth', 'oauth2', name], says: `is "${hidden(url)}"; it must be an https address.` }],
  );
  const secret =
    clientSecret !== undefined && !isEnvironment(clientSecret)
      ? [
          {
            path: ['auth', 'oauth2', 'clientSecret'],
            says: `is written out; it must be \${env.NAME}, so that no secret is kept in a description.`,
          },
        ]
      : [];
  return [...addresses, ...secret];
}

function configProblems({ config = {} }: HttpDescription): Problem[] {
  return Object.entries(config).flatMap(([name, given]): Problem[] => {
    const field = fieldOf(given);
    const at = ['config', name];
    const { type, default: standard, pattern } = field;
    if (pattern !== undefined && type !== 'string')
      return [{ path: [...at, 'pattern'], says: `goes with type string, and the type is ${type}.` }];
    if (pattern !== undefined && !isExpression(pattern))
      return [wrong([...at, 'pattern'], pattern, 'a regular expression')];
    if (standard === undefined) return [];
    if (typeof standard !== type) return [wrong([...at, 'default'], standard, `a ${type}`)];
    return pattern !== undefined && !new RegExp(`^(?:${pattern})$`, 'u').test(String(standard))
      ? [wrong([...at, 'default'], standard, `text that matches ${pattern}`)]
      : [];
  });
}

function isExpression(pattern: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`, 'u') !== undefined;
  } catch {
    return false;
  }
}

/** Where `${env.NAME}` is put in, and whether it is there. */
function environmentProblems(description: HttpDescription, env: NodeJS.ProcessEnv): Problem[] {
  return textsIn(description).flatMap(({ at, text }): Problem[] => {
    const isPlace = at[0] === 'baseUrl' || at[0] === 'headers' || (at[0] === 'auth' && at[1] === 'oauth2');
    if (!text.includes(`\${`)) return [];
    if (!isPlace)
      return [
        { path: at, says: `holds \${…}; \${env.NAME} is known in baseUrl, headers and auth.oauth2 only.` },
      ];
    const names = environmentNames(text);
    if (names.length < text.split(`\${`).length - 1)
      return [{ path: at, says: `holds \${…} that is not \${env.NAME}.` }];
    return names
      .filter((name) => !env[name])
      .map((name) => ({ path: at, says: `needs the variable ${name}, which is not set.` }));
  });
}

function errorProblems({ errors = [] }: HttpDescription): Problem[] {
  return errors.flatMap((rule, i): Problem[] => {
    const at = ['errors', i];
    const tests = (['equals', 'in', 'exists'] as const).filter((name) => rule[name] !== undefined);
    const problems = [
      ...(rule.status === undefined && rule.path === undefined
        ? [{ path: at, says: 'applies to every answer; say status, path, or both.' }]
        : []),
      ...(rule.path === undefined
        ? tests.map((name) => ({ path: [...at, name], says: 'needs a path to look at.' }))
        : conditionProblems({ ...rule, path: rule.path }, at)),
      ...(rule.retryAfter !== undefined && rule.means !== 'rate_limited'
        ? [
            {
              path: [...at, 'retryAfter'],
              says: `goes with means: rate_limited, and this means ${rule.means}.`,
            },
          ]
        : []),
      ...pathProblems(rule.retryAfter, [...at, 'retryAfter']),
    ];
    return problems;
  });
}
