import { pagedItems, pagedTests } from './connector-template-test.ts';
import type { NewConnector } from './connector-templates.ts';

/** What `syncline connector new --yaml` writes: a description, and a test of it. */

export const yamlConnector = ({
  slug,
  title,
}: NewConnector) => `# A connector without code: what to ask, and what an answer means.
# Every field is in docs/connectors/http.md; a mistake is refused with its line.
provider: ${slug}
name: ${title}
baseUrl: https://api.${slug}.example

# How the connection's credential is shown: bearer, basic, header, query, oauth2 or none.
auth: { type: bearer, optional: true }

# What each connection has to say, for {config.project} below. The pattern keeps out what does not belong into a path.
config:
  project: { type: string, pattern: '[a-z0-9-]+', description: the slug of the project }

# What every request is paid from, by all processes together. Answers that say how much is left correct it.
budgets:
  - { name: requests, per: credential, limit: 600, perSeconds: 60 }

streams:
  items:
    request:
      path: /projects/{config.project}/items
      query: { sort: updated }
    # Where the list is in an answer. Leave it out where the answer is the list.
    records: items
    # How to get the next page: link, next_url, cursor, page, offset or none.
    pagination: { type: page, parameter: page, size: { parameter: per_page, value: 100 } }
    # How to ask for what is new: by this field, which the list is sorted by, through this parameter.
    cursor: { path: updated_at, order: ascending, parameter: since }
    # What a record becomes. The same version of it, seen twice, is stored once.
    signal:
      kind: item.updated
      key: id

# Answers that mean something else than their status says. 401, 403, 429 and 5xx are understood without a rule.
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

// From the folder in which the tests are started.
const ${variable} = httpFromYaml('${folder}/${slug}.yaml');

${pagedItems}  return Response.json({ items: found.slice((page - 1) * size, page * size) });
};

const options = { config: { project: 'apollo' }, fetch: provider };

${pagedTests(variable)}`;
