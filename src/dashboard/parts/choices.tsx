interface Props<Value extends string | number> {
  label: string;
  options: { value: Value; name: string }[];
  value: Value;
  choose: (value: Value) => void;
}

export function Choices<Value extends string | number>({ label, options, value, choose }: Props<Value>) {
  return (
    <fieldset class="choices">
      <legend class="visually-hidden">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => choose(option.value)}
        >
          {option.name}
        </button>
      ))}
    </fieldset>
  );
}
