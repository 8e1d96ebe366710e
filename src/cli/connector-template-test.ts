export const pagedItems = `/** A fake provider: 250 items, ten per second. */
const items = Array.from({ length: 250 }, (_, i) => ({
  id: i + 1,
  updated_at: new Date(Date.UTC(2025, 0, 1, 0, 0, Math.floor(i / 10))).toISOString(),
}));

const provider: typeof fetch = async (input) => {
  const { searchParams } = new URL(String(input));
  const since = searchParams.get('since') ?? '';
  const [page, size] = [Number(searchParams.get('page')), Number(searchParams.get('per_page'))];
  const found = items.filter((item) => item.updated_at >= since);
`;

export const pagedTests = (variable: string) => `it('finds every item once', async () => {
  const connection = connectInMemory(${variable}, options);
  await connection.sync();
  expect(connection.signals).toHaveLength(items.length);
  await connection.sync();
  expect(connection.signals).toHaveLength(items.length);
});

it('loses and duplicates nothing, wherever it is interrupted', async () => {
  const report = await crashTest(${variable}, { ...options, expected: items.length });
  expect(report.problems).toEqual([]);
}, 60_000);
`;
