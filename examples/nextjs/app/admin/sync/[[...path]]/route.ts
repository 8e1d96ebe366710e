import { createRouteHandlers } from 'syncline/next';
import { authenticate } from '../../../../lib/session';
import { getSyncline } from '../../../../lib/syncline';

export const { GET, HEAD, POST, PUT, PATCH, DELETE } = createRouteHandlers(getSyncline, { authenticate });
