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

export function jsonOf(about: About, tables: readonly NumberTableData[]): string {
  const written = tables.map(({ caption, corner, columns, rows, print, isNamed }) => ({
    caption,
    corner,
    columns,
    rows: rows.map(({ name, values }) => ({
      name,
      values: values.map((value) => (isNamed && value !== undefined ? print(value) : finite(value))),
    })),
  }));
  return `${JSON.stringify({ ...about, tables: written }, null, 2)}\n`;
}

// Names may be words that somebody typed. A spreadsheet would run one that begins as a formula does.
function textCell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

const numberCell = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value) ? '' : String(value);

/** RFC 4180, each table under its caption and an empty line between two; begins with a byte order mark. */
export function csvOf(tables: readonly NumberTableData[]): string {
  const lines = tables.map(({ caption, corner, columns, rows, print, isNamed }) => {
    const cell = (value: number | undefined) =>
      isNamed && value !== undefined ? textCell(print(value)) : numberCell(value);
    return [
      textCell(caption),
      [corner, ...columns].map(textCell).join(','),
      ...rows.map(({ name, values }) => [textCell(name), ...values.map(cell)].join(',')),
      '',
    ].join('\r\n');
  });
  return `\ufeff${lines.join('\r\n')}`;
}
