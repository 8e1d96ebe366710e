import { hidden } from '../../values/redact.ts';
import { fieldOf } from './config-fields.ts';
import type { HttpDescription } from './description.ts';
import { invalidValue, type Problem } from './problems.ts';
import { isBaseUrl } from './requests.ts';
import {
  conditionProblems,
  configNames,
  isHeaderName,
  pathProblems,
  templateProblems,
} from './shared-checks.ts';
import { streamProblems } from './stream-contradictions.ts';
import { environmentNames, isEnvironment, textsIn } from './templates.ts';

export function contradictionsIn(description: HttpDescription, env: NodeJS.ProcessEnv): Problem[] {
  const { streams } = description;
  const noStreams: Problem[] =
    Object.keys(streams).length === 0
      ? [{ path: ['streams'], message: 'is empty; describe at least one stream.' }]
      : [];
  return [
    ...noStreams,
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
  const isSinglePlaceholder = /^\{config\.\w+\}$/.test(baseUrl) || isEnvironment(baseUrl);
  const example = baseUrl.replaceAll(/\$\{env\.\w+\}|\{[^{}]*\}/g, 'x');
  if (isSinglePlaceholder) return [];
  if (!isBaseUrl(example))
    return [
      {
        path: at,
        message:
          `is "${maskUrl(baseUrl)}"; it must be an http or https URL without a query, ` +
          'a fragment, a name or a password.',
      },
    ];
  const afterHost = baseUrl.replace(/^https?:\/\/[^/]*/i, '');
  return afterHost.includes('{') && !afterHost.includes(`\${`)
    ? [
        {
          path: at,
          message:
            'has a placeholder after the host; move it to request.path, ' +
            'where it is encoded as a segment.',
        },
      ]
    : [];
}

const maskUrl = (url: string) => url.replace(/\/\/[^/@]*@/, `//${hidden}@`).slice(0, 80);

function authProblems({ auth }: HttpDescription): Problem[] {
  if (auth.type === 'header' && !isHeaderName(auth.header))
    return [invalidValue(['auth', 'header'], auth.header, 'the name of a header')];
  if (auth.type !== 'oauth2') return [];
  const { authorizationUrl, tokenUrl, clientSecret } = auth.oauth2;
  const isLocal = (url: string) => /^http:\/\/(?:127\.0\.0\.1|localhost)(?:[:/]|$)/.test(url);
  const addresses = Object.entries({ authorizationUrl, tokenUrl }).flatMap(([name, url]) =>
    URL.canParse(url) && (url.startsWith('https://') || isLocal(url))
      ? []
      : [{ path: ['auth', 'oauth2', name], message: `is "${maskUrl(url)}"; it must be an https URL.` }],
  );
  const secret =
    clientSecret !== undefined && !isEnvironment(clientSecret)
      ? [
          {
            path: ['auth', 'oauth2', 'clientSecret'],
            message: `is written out; it must be \${env.NAME}, so that no secret is kept in a description.`,
          },
        ]
      : [];
  return [...addresses, ...secret];
}

function configProblems({ config = {} }: HttpDescription): Problem[] {
  return Object.entries(config).flatMap(([name, declared]): Problem[] => {
    const field = fieldOf(declared);
    const at = ['config', name];
    const { type, default: defaultValue, pattern } = field;
    if (pattern !== undefined && type !== 'string')
      return [
        { path: [...at, 'pattern'], message: `is only valid with type string, and the type is ${type}.` },
      ];
    if (pattern !== undefined && !isRegExp(pattern))
      return [invalidValue([...at, 'pattern'], pattern, 'a regular expression')];
    if (defaultValue === undefined) return [];
    if (typeof defaultValue !== type) return [invalidValue([...at, 'default'], defaultValue, `a ${type}`)];
    return pattern !== undefined && !new RegExp(`^(?:${pattern})$`, 'u').test(String(defaultValue))
      ? [invalidValue([...at, 'default'], defaultValue, `text that matches ${pattern}`)]
      : [];
  });
}

function isRegExp(pattern: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`, 'u') !== undefined;
  } catch {
    return false;
  }
}

function environmentProblems(description: HttpDescription, env: NodeJS.ProcessEnv): Problem[] {
  return textsIn(description).flatMap(({ at, text }): Problem[] => {
    const isAllowed = at[0] === 'baseUrl' || at[0] === 'headers' || (at[0] === 'auth' && at[1] === 'oauth2');
    if (!text.includes(`\${`)) return [];
    if (!isAllowed)
      return [
        {
          path: at,
          message: `contains \${…}; \${env.NAME} is only supported in baseUrl, headers and auth.oauth2.`,
        },
      ];
    const names = environmentNames(text);
    if (names.length < text.split(`\${`).length - 1)
      return [{ path: at, message: `contains \${…} that is not \${env.NAME}.` }];
    return names
      .filter((name) => !env[name])
      .map((name) => ({ path: at, message: `needs the environment variable ${name}, which is not set.` }));
  });
}

function errorProblems({ errors = [] }: HttpDescription): Problem[] {
  return errors.flatMap((rule, i): Problem[] => {
    const at = ['errors', i];
    const tests = (['equals', 'in', 'exists'] as const).filter((name) => rule[name] !== undefined);
    const problems = [
      ...(rule.status === undefined && rule.path === undefined
        ? [{ path: at, message: 'matches every response; set status, path, or both.' }]
        : []),
      ...(rule.path === undefined
        ? tests.map((name) => ({ path: [...at, name], message: 'needs a path to test.' }))
        : conditionProblems({ ...rule, path: rule.path }, at)),
      ...(rule.retryAfter !== undefined && rule.means !== 'rate_limited'
        ? [
            {
              path: [...at, 'retryAfter'],
              message: `is only valid with means: rate_limited, not with ${rule.means}.`,
            },
          ]
        : []),
      ...pathProblems(rule.retryAfter, [...at, 'retryAfter']),
    ];
    return problems;
  });
}
