export function page(
  title: string,
  paragraphs: readonly string[],
  { link, label }: { link?: string; label?: string } = {},
): string {
  const text = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('\n');
  const anchor =
    link === undefined ? '' : `<p><a href="${escapeHtml(link)}">${escapeHtml(label ?? link)}</a></p>`;
  return shell(title, `${text}\n${anchor}`);
}

/** `html` is escaped. */
export function shell(title: string, html: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Syncline</title>
<style>
:root {
  color-scheme: light dark;
  --page: #fff; --text: #16191d; --line: #c9ced6; --soft: #525b68; --fill: #1d4ed8; --on-fill: #fff
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --text: #eceff3; --line: #434b57; --soft: #a9b2bf; --fill: #93b4ff; --on-fill: #0b1220
  }
}
html { background: var(--page); color: var(--text) }
body {
  font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: clamp(1.5rem, 12vh, 8rem) auto;
  padding: 0 1rem; overflow-wrap: anywhere
}
h1 { font-size: 1.25rem }
dl {
  display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .5rem 1rem;
  padding: 1rem 0; margin: 1rem 0; border: solid var(--line); border-width: 1px 0
}
dt { color: var(--soft) }
dd { margin: 0 }
.soft { color: var(--soft) }
button {
  font: inherit; font-weight: 600; padding: .6rem 1.1rem; border: 0; border-radius: .4rem;
  color: var(--on-fill); background: var(--fill); cursor: pointer; max-width: 100%
}
button:focus-visible { outline: 3px solid var(--fill); outline-offset: 2px }
@media (max-width: 28rem) {
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin-bottom: .5rem }
  button { width: 100% }
}
</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${html}
</main>
</body>
</html>
`;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
