// The little markup that the dictionaries use: *emphasis*, `code`, $formula$ with $x_i$ and $x^n$, and [text](address);
// names like Qwen2-VL are kept whole at the end of a line. No HTML is parsed, so a text can hold any character. Knows
// nothing of the DOM: the build reads it, too.

/** What is marked in a text. */
export const marked = /(\*[^*]+\*|`[^`]+`|\$[^$]+\$|\[[^\]]+\]\([^)\s]+\)|\b[A-Z]\w*-[A-Z\d]\w+)/;

/** An index or a power in a formula. */
export const raised = /([_^](?:\w|\{[^}]+\}))/;
