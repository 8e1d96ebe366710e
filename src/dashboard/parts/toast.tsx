import { signal } from '@preact/signals';

const shown = signal<{ id: number; text: string }[]>([]);
let lastId = 0;

export function notify(text: string): void {
  const id = ++lastId;
  shown.value = [...shown.value, { id, text }].slice(-3);
  setTimeout(() => {
    shown.value = shown.value.filter((toast) => toast.id !== id);
  }, 5000);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, text }) => (
        <div key={id} class="toast">
          {text}
        </div>
      ))}
    </div>
  );
}
