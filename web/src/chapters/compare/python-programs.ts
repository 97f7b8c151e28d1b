// The programs in Python, fetched together when somebody opens one.
const files = import.meta.glob<string>('./{numpy,pytorch}/*.py', { query: '?raw', import: 'default', eager: true });

export const pythonProgram = (library: string, encoding: string): string => files[`./${library}/${encoding}.py`] ?? '';
