import { expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

it.each([11, 12])(
  'upgrade: jobs are listed and deleted on schema version %i, and after its migration',
  async (version) => {
    const schema = `previous_${version}`;
    const engine = database.engine({ database: { url: database.url, schema } });
    const migrations = knownMigrations.filter((migration) => migration.version <= version);
    await migrate(engine.config.database, { migrations, ports: systemPorts, onProgress: () => {} });
    await engine.ready();
    await engine.providers.register({ slug: 'github' });
    const { id: tenantId } = await engine.tenants.create({ name: 't' });
    const own = engine.as({ tenantId, actor: 'test' });

    async function listAndDelete() {
      const { id } = await engine.connections.create({ tenantId, provider: 'github' });
      const { jobId: ended } = await engine.connections.trigger(id);
      await engine.jobs.cancel(ended);
      const { jobId: pending } = await engine.connections.trigger(id);
      for (const request of [{}, { connectionId: id }]) {
        const { items } = await own.jobs.list(request);
        expect(items.map((job) => [job.id, job.status]).sort()).toEqual(
          [
            [ended, 'cancelled'],
            [pending, 'queued'],
          ].sort(),
        );
      }
      await engine.connections.delete(id);
      expect(await database.sql(`SELECT FROM ${schema}.sync_jobs`)).toEqual([]);
    }

    await listAndDelete();
    await engine.migrate();
    await listAndDelete();
  },
);
