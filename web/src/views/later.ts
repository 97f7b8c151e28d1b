// The styles of what the first screen has none of, of paper and of forced colours: they come with the second chapter.
import './appendix.css';
import './charts.css';
import './comparison.css';
import './forced-colors.css';
import './group-tables.css';
import './memory.css';
import './more.css';
import './pitfalls.css';
import './plane.css';
import './print.css';
import './products.css';
import './scorecard.css';
import './steps.css';
import './work.css';
