import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  /** Right-aligned. */
  numeric?: boolean;
  heads?: boolean;
  /** Fills the width, truncated. */
  wide?: boolean;
}

interface Props<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
}

/** Cards on narrow screens. */
export function Table<Row>({ caption, columns, rows, keyOf }: Props<Row>) {
  return (
    <div class="table-room">
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ name, numeric }) => (
              <th key={name} scope="col" class={numeric ? 'numeric' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <Cell key={column.name} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const names = [column.numeric && 'numeric', column.wide && 'wide'].filter(Boolean).join(' ') || undefined;
  const content = column.cell(row);
  return column.heads ? (
    <th scope="row" class={names} data-name={column.name}>
      {content}
    </th>
  ) : (
    <td class={names} data-name={column.name}>
      {content}
    </td>
  );
}
