/**
 * Some browsers, started without a locale, name a language that Intl does not take, and the chart library asks Intl for
 * it as soon as it is loaded. This is imported before it.
 */
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}
