/** Prints test names without durations, so that the output is the same in every run. */
export default async function* names(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass') yield `ok: ${data.name}\n`;
    if (type === 'test:fail')
      yield `FAILED: ${data.name}\n${data.details.error.cause ?? data.details.error}\n`;
  }
}
