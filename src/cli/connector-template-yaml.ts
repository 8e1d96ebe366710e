import { pagedItems, pagedTests } from './connector-template-test.ts';
import type { NewConnector } from './connector-templates.ts';

export const yamlConnector = ({
  slug,
  title,
}: NewConnector) => `# A connector without code. All fields: docs/connectors/http.md. Errors name the line.
provider: ${slug}
name: ${title}
baseUrl: https://api.${slug}.example

# How to send the credential: bearer, basic, header, query, oauth2 or none.
auth: { type: bearer, optional: true }

# Configuration of a connection, used as {config.project}. The pattern keeps the path safe.
config:
  project: { type: string, pattern: '[a-z0-9-]+', description: project slug }

# Rate limit shared by all processes. Rate limit headers of the provider adjust it.
budgets:
  - { name: requests, per: credential, limit: 600, perSeconds: 60 }

streams:
  items:
    request:
      path: /projects/{config.project}/items
      query: { sort: updated }
    # Path of the list in the response. Omit it if the response is the list.
    records: items
    # Pagination: link, next_url, cursor, page, offset or none.
    pagination: { type: page, parameter: page, size: { parameter: per_page, value: 100 } }
    # Incremental sync: the list is sorted by this field; the parameter requests newer records.
    cursor: { path: updated_at, order: ascending, parameter: since }
    # The signal of a record. The same version of a record is stored once.
    signal:
      kind: item.updated
      key: id

# Responses whose meaning differs from their status. 401, 403, 429 and 5xx need no rule.
errors:
  - { status: 400, path: error, equals: bad_since, means: cursor_expired }
`;

export const yamlTest = ({
  slug,
  variable,
  folder,
}: NewConnector) => `import { httpFromYaml } from 'syncline/connectors';
import { connectInMemory, crashTest } from 'syncline/testing';
import { expect, it } from 'vitest';

// Relative to the tests' working directory.
const ${variable} = httpFromYaml('${folder}/${slug}.yaml');

${pagedItems}  return Response.json({ items: found.slice((page - 1) * size, page * size) });
};

const options = { config: { project: 'apollo' }, fetch: provider };

${pagedTests(variable)}`;
