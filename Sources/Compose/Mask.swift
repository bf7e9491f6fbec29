import Frames
import Track
