import { describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { useGuide } from '../support/guide-run.ts';

const database = useDatabase();
const guide = useGuide('docs/quickstart.md', database);

describe('docs/quickstart.md', () => {
  it('guide: the quickstart fills a table from a connector of its own', async () => {
    await guide.follow();
    const orders = await database.sql(
      'SELECT name, o.id, total FROM orders o JOIN tenants t ON t.id = tenant_id ORDER BY o.id LIMIT 3',
    );
    expect(orders).toEqual([1, 2, 3].map((id) => ({ name: 'Northwind', id, total: id * 10 })));
  }, 600_000);
});
