export function Prose({ text }: { text: string | undefined }) {
  const parts = (text ?? '').split('`');
  return <>{parts.map((part, index) => (index % 2 ? <code key={`${index} ${part}`}>{part}</code> : part))}</>;
}
