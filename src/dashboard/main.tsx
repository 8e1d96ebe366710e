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

const place = document.getElementById('app');
if (place) render(<App />, place);
