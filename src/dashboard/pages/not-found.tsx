import { Link } from '../parts/link.tsx';
import { Page } from '../parts/page.tsx';
import { Empty } from '../parts/states.tsx';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty>
        There is no such page. <Link to="">Go to the pulse.</Link>
      </Empty>
    </Page>
  );
}
