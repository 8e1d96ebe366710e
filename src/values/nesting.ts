const [quote, backslash, openList, closeList, openObject, closeObject] = [34, 92, 91, 93, 123, 125];

export function exceedsDepthText(json: string, levels: number): boolean {
  // Each level takes two characters.
  if (json.length <= 2 * levels) return false;
  let depth = 0;
  let isInText = false;
  for (let i = 0; i < json.length; i++) {
    const code = json.charCodeAt(i);
    if (isInText) {
      if (code === backslash) i++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === openList || code === openObject) {
      if (++depth > levels) return true;
    } else if (code === closeList || code === closeObject) depth--;
  }
  return false;
}

export function exceedsDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => exceedsDepth(inner, levels - 1));
}

export function cutDeeper(value: unknown, levels: number, note: string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return note;
  const cut = (inner: unknown) => cutDeeper(inner, levels - 1, note);
  if (Array.isArray(value)) return value.map(cut);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cut(inner)]));
}
