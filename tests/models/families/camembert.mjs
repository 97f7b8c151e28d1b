// CamemBERT: RoBERTa's class.
import { encoder, roberta, tensors } from './roberta.mjs';

export { encoder, tensors };

export const modelType = 'camembert';

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { camembert: ['F32', roberta('camembert', 'CamembertForMaskedLM', {}), { head: true }] };
