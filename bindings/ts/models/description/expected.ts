// Fields with one value that a family can have.

import type { Fields } from '../../checkpoints/fields.js';
import { describe } from '../../runtime/errors.js';

/**
 * Refuses another value of a field than the one that is computed. A file without it means this one, unless it is needed:
 * then the class has another.
 * @internal
 */
export function expectOnly(fields: Fields, values: Readonly<Record<string, unknown>>, areNeeded?: boolean): void {
  for (const [field, expected] of Object.entries(values)) {
    fields.use(field);
    if ((areNeeded || fields.has(field)) && fields.peek(field) !== expected) {
      throw fields.misfit(field, `; expected ${describe(expected)}`);
    }
  }
}
