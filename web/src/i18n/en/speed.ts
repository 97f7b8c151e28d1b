// Chapter: speed on this device.
export const speed = {
  title: 'How fast it runs on your device',
  opening: [
    'Turning queries and keys is little arithmetic on much memory. The package does it with SIMD instructions, four numbers at a time, in WebAssembly. Below, your device does the same work twice: with the package, and with well-meant plain JavaScript.',
  ],
  ask: {
    question: 'How much faster is the package at the sinusoidal table, where JavaScript calls Math.sin and Math.cos?',
    answers: ['About the same', 'A few times', 'Ten times or more'],
    right: 1,
    explanation:
      'Usually a few times; press Run and see. It differs from engine to engine, and other programs that run at the same time disturb it.',
  },
  run: {
    table: 'Milliseconds for one call, medians',
    work: 'work',
    core: 'package',
    script: 'JavaScript',
    ratio: 'ratio',
    works: {
      rotate: 'RoPE, 2,048 tokens, head of 128',
      sinusoid: 'sinusoidal table, 2,048 × 256',
    },
    caption:
      'Measured in the background, by turns, fifteen rounds. The package’s results arrive in arrays of their own, as a program would get them.',
    notYet: 'Nothing is measured yet.',
    summary: (ratio: string) => `RoPE by the package is ${ratio} times as fast as plain JavaScript.`,
  },
  after: [
    'This page uses the build whose results are the same bits on every machine. Programs that do not need that get a faster one where the engine has relaxed SIMD.',
  ],
};
