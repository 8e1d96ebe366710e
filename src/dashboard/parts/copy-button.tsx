import { useState } from 'preact/hooks';
import { Icon } from './icon.tsx';
import { notify } from './toast.tsx';

const shownMs = 2000;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), shownMs);
    } catch {
      // Clipboard access needs HTTPS or localhost.
      notify('The browser blocked copying. Select the text instead.');
    }
  };
  const currentLabel = copied ? 'Copied' : label;
  return (
    <button type="button" class="icon-button" onClick={copy} aria-label={currentLabel} title={currentLabel}>
      <Icon name={copied ? 'ok' : 'copy'} />
    </button>
  );
}
