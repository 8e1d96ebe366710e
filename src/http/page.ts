/** A plain page for a person, where there is no dashboard to show it. */
export function page(
  title: string,
  paragraphs: readonly string[],
  { link, label }: { link?: string; label?: string } = {},
): string {
  const text = paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph)}</p>`).join('\n');
  const onward =
    link === undefined ? '' : `<p><a href="${escapeHtml(link)}">${escapeHtml(label ?? link)}</a></p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Syncline</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem }
h1 { font-size: 1.25rem }
</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
${text}
${onward}
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
