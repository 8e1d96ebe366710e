import { PermanentError, TransientError } from '../contract/errors.ts';
import { maxResponse } from './limits.ts';

export function parseAnswer(text: string, request: string): unknown {
  if (hasMoreValues(text, maxResponse.jsonValues))
    throw new PermanentError(
      `${request}: the response has more than ${maxResponse.jsonValues} JSON values. Request smaller pages.`,
    );
  try {
    return JSON.parse(text);
  } catch {
    // A proxy's error page, or truncated.
    throw new TransientError(`${request}: the response is not JSON.`);
  }
}

const [quote, backslash, comma, list, object] = [34, 92, 44, 91, 123];

/** Counts commas and opening brackets. */
function hasMoreValues(json: string, limit: number): boolean {
  // A value takes at least two characters.
  if (json.length <= 2 * limit) return false;
  let values = 1;
  let isInText = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInText) {
      if (code === backslash) i++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if ((code === comma || code === list || code === object) && ++values > limit) return true;
  }
  return false;
}
