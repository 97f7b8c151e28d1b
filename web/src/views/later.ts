// The styles of what the first chapter has none of: they come with the second.
import './charts.css';
import './memory.css';
import './plane.css';
import './products.css';
import './scorecard.css';
