// The JavaScript side of Embind's declarations, linked in place of Emscripten's library (--js-library). The core
// accepts numbers, booleans and objects of its classes, and returns numbers and booleans. Emscripten's library supports
// many more types and prepares all methods in advance, which takes a fifth of the time to the first result. Here a
// method is looked up when it is called, an object passed as a number gives its address, and a deleted object throws.
const bindings = {
  // By the id of a C++ type: converts returned values of types that are not plain numbers.
  $readers: {},
  $classes: {},
  // `lost` is true while a call runs, and stays true where a call is left other than by its own return: by a trap, or at
  // the end of JavaScript's stack. The state of the core is then unknown, and every later call throws `error()`.
  $state: { lost: false },
  $state__postset: "Module['state'] = state;",
  $enter__deps: ['$state'],
  $enter: () => {
    if (state.lost) throw state.error();
    state.lost = true;
  },

  $textAt: (address) => {
    let text = '';
    while (HEAPU8[address] !== 0) text += String.fromCharCode(HEAPU8[address++]);
    return text;
  },

  $boundFunction__deps: ['$enter', '$readers', '$wasmTable'],
  $boundFunction: (invoker, target, type) => {
    let call;
    let read;
    return (...args) => {
      call ??= wasmTable.get(invoker);
      read ??= readers[type] ?? ((value) => value);
      enter();
      const result = call(target, ...args);
      state.lost = false;
      return read(result);
    };
  },
  $boundMethod__deps: ['$enter', '$readers', '$wasmTable'],
  $boundMethod: (invoker, target, type) => {
    let call;
    let read;
    return function (...args) {
      call ??= wasmTable.get(invoker);
      read ??= readers[type] ?? ((value) => value);
      const address = this.valueOf();
      enter();
      const result = call(target, address, ...args);
      state.lost = false;
      return read(result);
    };
  },

  _embind_register_bool__deps: ['$readers'],
  _embind_register_bool: (type) => {
    readers[type] = Boolean;
  },
  _embind_register_integer__deps: ['$readers'],
  _embind_register_integer: (type, _name, _size, least) => {
    if (least === 0) readers[type] = (value) => value >>> 0;
  },

  _embind_register_function__deps: ['$boundFunction', '$textAt'],
  _embind_register_function: (name, _count, types, _signature, invoker, target) => {
    Module[textAt(name)] = boundFunction(invoker, target, HEAPU32[types >> 2]);
  },

  _embind_register_class__deps: ['$classes', '$enter', '$textAt', '$wasmTable'],
  _embind_register_class: (type, _p, _constP, _base, _s, _actual, _s2, _up, _s3, _down, name, _s4, destructor) => {
    classes[type] = class {
      constructor() {
        this.$$ = classes[type].create();
      }
      delete() {
        const address = this.valueOf();
        const destroy = wasmTable.get(destructor);
        enter();
        destroy(address);
        state.lost = false;
        this.$$ = 0;
      }
      valueOf() {
        if (this.$$ === 0) throw new Error('this object of the core was deleted');
        return this.$$;
      }
    };
    Module[textAt(name)] = classes[type];
  },
  _embind_register_class_constructor__deps: ['$boundFunction', '$classes'],
  _embind_register_class_constructor: (type, _count, _types, _signature, invoker, target) => {
    classes[type].create = boundFunction(invoker, target);
  },
  _embind_register_class_function__deps: ['$boundMethod', '$classes', '$textAt'],
  _embind_register_class_function: (type, name, _count, types, _signature, invoker, target) => {
    classes[type].prototype[textAt(name)] = boundMethod(invoker, target, HEAPU32[types >> 2]);
  },
  _embind_register_class_property__deps: ['$boundMethod', '$classes', '$textAt'],
  _embind_register_class_property: (type, name, result, _signature, getter, target) => {
    Object.defineProperty(classes[type].prototype, textAt(name), { get: boundMethod(getter, target, result) });
  },
};

// Types that need no conversion or that the core does not use.
for (const kind of ['void', 'float', 'bigint', 'std_string', 'std_wstring', 'emval', 'memory_view']) {
  bindings[`_embind_register_${kind}`] = () => {};
  bindings[`_embind_register_${kind}__deps`] = [];
}

// --emit-tsd links the module once more with Emscripten's library that prints the types, which needs free().
const { library } = LibraryManager;
bindings._embind_register_void__deps = ['free'];
if (!('$moduleDefinitions' in library)) {
  // Emscripten needs these signatures only to convert addresses beyond 2 GiB, which do not occur here.
  for (const name of Object.keys(bindings)) delete library[`${name}__sig`];
  addToLibrary(bindings);
}
