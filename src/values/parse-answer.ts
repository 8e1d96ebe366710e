import { PermanentError, TransientError } from '../contract/errors.ts';

/** An answer of a provider with more is refused before it is parsed: millions of tiny values take seconds, and gigabytes. */
const maxValues = 2_000_000;

/** The JSON of a provider's answer. */
export function parseAnswer(text: string, request: string): unknown {
  if (hasMoreValues(text, maxValues))
    throw new PermanentError(
      `${request}: the answer holds more than ${maxValues} JSON values. Ask the provider for smaller pages.`,
    );
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's page, or a body that was cut off: the next try may well get the real one.
    throw new TransientError(`${request}: the answer is not JSON.`);
  }
}

const [quote, backslash, comma, list, object] = [34, 92, 44, 91, 123];

/** Counts what separates and begins values; text within strings does not count. */
function hasMoreValues(json: string, most: number): boolean {
  // Every value but the last is followed by a character of its own.
  if (json.length <= 2 * most) return false;
  let values = 1;
  let isInText = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInText) {
      if (code === backslash) i++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if ((code === comma || code === list || code === object) && ++values > most) return true;
  }
  return false;
}
