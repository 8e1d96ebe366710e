/** `dist` of this checkout, or of the earlier build that `--against` names. */
const folder = process.env['SYNCLINE_DIST'] ?? '../../dist';

export const { createSyncline, defineConnector }: typeof import('../../dist/index.js') = await import(
  `${folder}/index.js`
);
