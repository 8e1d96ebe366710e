export const people = ['ana', 'ben', 'chloe', 'emil', 'fatima', 'hana', 'ines', 'jonas', 'mira', 'tom'];

export const issueTitles = [
  'Login button does nothing on small screens',
  'Export times out for large workspaces',
  'Dark mode: headings are unreadable',
  'Invoice shows the wrong currency',
  'Search ignores umlauts',
  'Upload fails at exactly 10 MB',
  'Password reset mail arrives twice',
  'Charts are empty for new accounts',
  'Keyboard focus is lost after closing a dialog',
  'Time zone of reminders is off by one hour',
];

export const pullRequestTitles = [
  'Retry uploads that were interrupted',
  'Cache the list of projects',
  'Replace the date picker',
  'Update dependencies',
  'Speed up the first page load',
  'Add tests for the billing webhook',
  'Move settings to a page of their own',
  'Fix the order of comments',
  'Log slow queries',
  'Remove the old importer',
];

export const messages = [
  'The export is stuck at 40 % again, can someone look?',
  'Deploy is done, everything looks good.',
  'Who is on call this weekend?',
  'A customer asks whether we support single sign-on.',
  'Lunch in ten minutes?',
  'The numbers for last month are in the sheet.',
  'Can we move the review to three?',
  'Fixed, it was the cache.',
  'New feedback from the beta group, mostly good!',
  'I will be away from the keyboard for an hour.',
  'Thanks, that worked.',
  'The staging database needs a restart.',
];

export const meetings = [
  'Weekly planning',
  'Design review',
  'Interview',
  'Customer call',
  'One on one',
  'Incident review',
  'Release check',
  'Team lunch',
  'Budget for the next quarter',
  'Workshop: onboarding',
];

export const tables = ['orders', 'customers', 'invoices', 'products', 'shipments'];
