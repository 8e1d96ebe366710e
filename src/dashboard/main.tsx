import './locale.ts';

import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './clock.ts';
import { startKeyboard } from './keyboard.ts';
import { findSession } from './session.ts';
import { startTheme } from './theme.ts';

startTheme();
startClock();
startKeyboard({
  p: '',
  c: 'connections',
  j: 'jobs',
  s: 'signals',
  y: 'system',
  a: 'audit',
  k: 'keys',
});
void findSession();

const root = document.getElementById('app');
if (root) render(<App />, root);
