// The numbers of a figure as files: JSON for programs, CSV for spreadsheets. Whole numbers, not the rounded ones.
import type { NumberTableData } from '../views/number-table';

/** What a figure is, for those who find its file later. */
export interface About {
  readonly figure: string;
  readonly caption: string;
  readonly summary: string;
  /** Shows the figure again. */
  readonly address: string;
  /** The program that computes the numbers. */
  readonly code: string;
}

// JSON has no infinities and no NaN; a missing number is null, too.
const finite = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? value : null;

// A number as the page prints it, for readers: 1,024 or −3.
const printed = /^−?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$/;

// A name that is such a number, as programs write it.
const plainName = (name: string): string =>
  printed.test(name) ? name.replaceAll(',', '').replace('−', '-') : name.replaceAll('−', '-');

// Names in a row, as numbers if all of them are.
const named = (names: readonly string[]): readonly (string | number)[] =>
  names.every((name) => printed.test(name)) ? names.map((name) => Number(plainName(name))) : names.map(plainName);

export function jsonOf(about: About, tables: readonly NumberTableData[]): string {
  const all = tables.map(({ caption, corner, columns, rows, print, isNamed }) => {
    const names = named(rows.map(({ name }) => name));
    const written = (value: number | undefined) => (isNamed && value !== undefined ? print(value) : finite(value));
    const each = rows.map(({ values }, i) => ({ name: names[i], values: values.map(written) }));
    return { caption, corner, columns: named(columns), rows: each };
  });
  return `${JSON.stringify({ ...about, tables: all }, null, 2)}\n`;
}

// Names may be words that somebody typed. A spreadsheet would run one that begins as a formula does.
function textCell(text: string): string {
  const plain = plainName(text);
  const harmless = !printed.test(text) && /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

const numberCell = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : String(value);

/**
 * RFC 4180 with a byte order mark: a line of names, then numbers. Several tables are one of four columns, in which each
 * number has a line: table, row, column, value.
 */
export function csvOf(tables: readonly NumberTableData[]): string {
  const cellOf = ({ print, isNamed }: NumberTableData, value: number | undefined): string =>
    isNamed && value !== undefined ? textCell(print(value)) : numberCell(value);
  const [only, ...others] = tables;
  const lines =
    only && others.length === 0
      ? [
          [only.corner, ...only.columns].map(textCell),
          ...only.rows.map(({ name, values }) => [textCell(name), ...values.map((value) => cellOf(only, value))]),
        ]
      : [
          ['table', 'row', 'column', 'value'],
          ...tables.flatMap((table) =>
            table.rows.flatMap(({ name, values }) =>
              values.map((value, i) => [
                ...[table.caption, name, table.columns[i] ?? ''].map(textCell),
                cellOf(table, value),
              ]),
            ),
          ),
        ];
  return `\ufeff${lines.map((cells) => `${cells.join(',')}\r\n`).join('')}`;
}
