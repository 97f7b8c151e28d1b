// One map of scores, as programs show it.

/**
 * [T, T] of a head, of a part that is [H, T, T].
 * @type {(part: Float32Array, head: number, T: number) => Float32Array}
 */
export const scoreMap = (part, head, T) => part.slice(head * T * T, (head + 1) * T * T);
