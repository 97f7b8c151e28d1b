// What the programs beside the pictures are written with.

/** A value as it is written in a program. */
export function literal(value: unknown): string {
  if (typeof value === 'string') {
    const escaped = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
    return `'${escaped}'`;
  }
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([name, entry]) => `${name}: ${literal(entry)}`)
      .join(', ')} }`;
  }
  return String(value);
}
