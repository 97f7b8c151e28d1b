// Fields with one value that a family can have.

import type { Fields } from '../../checkpoints/fields.js';
import { describe } from '../../runtime/errors.js';

/** Refuses another value of a field than the one that is computed; a file without it means this one. @internal */
export function expectOnly(fields: Fields, values: Readonly<Record<string, unknown>>): void {
  for (const [field, expected] of Object.entries(values)) {
    fields.use(field);
    if (fields.has(field) && fields.peek(field) !== expected) {
      throw fields.misfit(field, `; expected ${describe(expected)}`);
    }
  }
}
