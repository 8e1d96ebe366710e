import { randomUUID } from 'node:crypto';
import { JsonText } from '../values/stored-json.ts';

/** Parts to concatenate; stored JSON is neither parsed nor copied. */
export function jsonParts(value: unknown): string[] {
  const texts: string[] = [];
  const mark = randomUUID();
  const frame = JSON.stringify(value, (_key, inner: unknown) => {
    if (!(inner instanceof JsonText)) return inner;
    texts.push(inner.text);
    return mark;
  });
  if (texts.length === 0) return [frame];
  return frame.split(`"${mark}"`).flatMap((part, i) => [part, texts[i] ?? '']);
}
