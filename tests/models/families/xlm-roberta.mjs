// XLM-RoBERTa: RoBERTa's class. Models that give vectors for texts (multilingual MiniLM, E5, BGE-M3) have no head.
import { encoder, roberta, tensors } from './roberta.mjs';

export { encoder, tensors };

export const modelType = 'xlm-roberta';

/** By name: [dtype of the weights, config, options of the file]. */
export const variants = { 'xlm-roberta': ['BF16', roberta('xlm-roberta', 'XLMRobertaModel', {}), { pooler: true }] };
