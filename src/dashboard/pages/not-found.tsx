import { Link } from '../parts/link.tsx';
import { Page } from '../parts/page.tsx';
import { Empty } from '../parts/states.tsx';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty>
        This page does not exist. <Link to="">Back to overview</Link>
      </Empty>
    </Page>
  );
}
